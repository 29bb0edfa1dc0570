"""What model providers speak, one pure file per wire format: bytes to neutral form and back."""
