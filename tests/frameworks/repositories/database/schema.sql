CREATE TABLE orders (number INTEGER PRIMARY KEY, status TEXT NOT NULL);
INSERT INTO orders VALUES (7, 'in transit'), (8, 'delivered');
CREATE TABLE questions (text TEXT NOT NULL);
