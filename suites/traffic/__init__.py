"""Real traffic: a log of requests becomes a suite and the times at which its conversations begin."""
