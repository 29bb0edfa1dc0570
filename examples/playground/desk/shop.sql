CREATE TABLE stock (item TEXT PRIMARY KEY, amount INTEGER NOT NULL);
INSERT INTO stock VALUES ('lamp', 3), ('chair', 8);
