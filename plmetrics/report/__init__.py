"""Result tables as text: strings out, nothing printed."""
