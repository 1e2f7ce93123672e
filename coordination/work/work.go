// Package work says what an event means for the queue of what has still to be done outside, and how long to wait before another attempt.
// It is pure.
package work
