"""How networks are trained: by torch.func, any of them; by compiled code, those the papers live on."""
