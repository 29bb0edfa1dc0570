"""What the gate reads and writes on a forge, one protocol for each part."""
