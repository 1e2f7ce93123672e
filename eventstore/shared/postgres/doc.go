// Package postgres keeps a shared log in a PostgreSQL database: a table of records, whose number is the primary key, and
// a row with the lease. A writer gives the number itself, so that there are no sequences and no gaps, and a record whose
// number is taken is refused by the key.
package postgres
