from desk import agent as agent
