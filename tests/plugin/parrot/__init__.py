"""A plug-in of Draftmark: the backend `parrot`, the drafter `mimic`, the suite `sayings`."""
