"""From datasets to numbers: what the pages compute for their claims, as functions that are tested on known answers."""
