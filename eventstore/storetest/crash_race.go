//go:build race

package storetest

// DefaultCrashRounds is smaller under the race detector, where a round takes many times longer: the detector looks for other faults.
const DefaultCrashRounds = 8
