"""From a request to a run that lives on by itself: claims, leases, runs, the sweeper."""
