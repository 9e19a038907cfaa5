"""What stands above every floor and is used by none: feeding data, looking at models (above every floor)."""
