// Package bench measures openclawd against baselines of its own in the same run, on the same disk: absolute figures of a shared machine
// mean little, ratios hold. Every baseline is the plainest honest way to do the same thing.
package bench
