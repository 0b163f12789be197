"""How a monoid becomes machine code, where that code is cached, and the loops it runs in."""
