"""Why a figure may not count: claims, stand-ins, judges that are not believed."""
