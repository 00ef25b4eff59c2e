"""Room: ledger."""
