"""`sayso chat`: an agent of any AG-UI server on a terminal."""
