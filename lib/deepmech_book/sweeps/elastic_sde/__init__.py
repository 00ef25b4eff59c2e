"""Sweeps of paper B (Zhang, Wang, Su 2021): LeNets and their logits, extended models, and tangent kernels."""
