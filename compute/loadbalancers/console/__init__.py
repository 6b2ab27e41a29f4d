"""The console's pages of load balancers: the picture of a tree, its forms and change pages. They read, parse, call and show."""
