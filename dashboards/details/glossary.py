"""The words and symbols of the page, each in one sentence: shown as hints where first used, and listed at its end."""

from __future__ import annotations

WORDS = {
    "arm": "One drafter with one D and its options: what is compared with no speculation.",
    "no speculation": "The arm without a drafter, also called the baseline: each step yields one token.",
    "control": "The arm without speculation run a second time: what differs between the two, speculation did not do.",
    "drafter": "What proposes tokens for the target to check: an n-gram lookup, a small model, a trained head.",
    "target": "The model whose answers are wanted. It checks each draft and decides every token.",
    "D": "Draft length: the most tokens that a drafter may propose in one step.",
    "step": "One pass of the target: without speculation it yields one token (a plain step), with it up to D + 1.",
    "AL": "Acceptance length: tokens that a step yields on average, the target's own token included; 1 to D + 1.",
    "coverage": "The share of steps that had a draft at all.",
    "speed-up": "Time per token without speculation over that with it: 1.50x is one and a half times the tokens in the "
    "same time.",
    "interval": "Where the number would lie in 95 of 100 such runs on other prompts of the kind.",
    "pair": "The same question answered by the arm and without speculation: what a speed-up compares.",
    "launch": "One start of the engine. Speeds differ from start to start, which a single launch cannot show.",
    "turn": "One question and its answer; a conversation has one or more.",
    "suite": "A named list of prompts.",
    "prefill": "Reading the prompt, which ends with the first token; it is no step.",
    "O": "Overhead: what drafting and dearer checking add to a step, counted in plain steps.",
    "numeric tie": "Two tokens that are equally likely within the arithmetic's rounding: either is right.",
}
"""Each word with its meaning, in the order in which a reader meets them."""

SYMBOLS = {
    "n": "number of decode steps; the prefill is none",
    "d_i": "tokens drafted in step i",
    "a_i": "of these, tokens that the target accepted",
    "e_i": "tokens that step i added to the answer: a_i + 1, or fewer where the answer ended inside the step",
    "u_i": "accepted tokens that reached the answer: the smaller of a_i and e_i",
    "v_i": "drafted tokens that could have reached the answer: d_i, or the smaller of d_i and e_i where it ended",
    "k": "position in the draft, from 1",
    "#(...)": "how many steps meet the condition",
}
"""What stands in the formulas."""
