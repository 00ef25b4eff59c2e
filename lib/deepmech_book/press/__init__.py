"""Where the verbs of the command stood: an installation made before they moved asks for them here."""
