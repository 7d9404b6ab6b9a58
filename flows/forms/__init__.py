"""What people fill into a form: parameters, checked before anything starts."""
