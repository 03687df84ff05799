"""Object stores and web servers: addresses, facts of objects, and their bytes."""
