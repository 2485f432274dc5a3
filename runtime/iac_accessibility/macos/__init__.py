"""The bridge to the accessibility interface of macOS, through PyObjC."""
