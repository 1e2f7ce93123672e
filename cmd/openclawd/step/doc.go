// Package step walks through a log event by event, forwards and back, with the tables as they stood at each event: what it says, what it
// came from and led to, and which rows it changed. Machine does that; Screen shows it in a terminal.
package step
