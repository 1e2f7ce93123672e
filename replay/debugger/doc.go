// Package debugger steps through a log event by event, forwards and backwards, with the tables as of each event: what
// the event says, its causes and effects, and which rows it changed. Machine does the stepping.
package debugger
