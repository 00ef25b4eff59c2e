"""The experiments of Shi, Pan, Dokmanić 2024: one function per figure, with the paper's parameters as defaults."""
