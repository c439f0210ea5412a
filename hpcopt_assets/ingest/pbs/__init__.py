"""PBS Professional, OpenPBS and Torque accounting logs: lines of events, of which several tell of one job."""
