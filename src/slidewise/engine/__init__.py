"""The one place where windows, structures and columns meet: plans, whole columns, carried windows, live windows."""
