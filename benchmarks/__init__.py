"""Speed against peers: seeded tables, contestants in processes of their own, in alternation."""
