//go:build !race

package monitor_test

const (
	// oracleLogs is how many random logs are compared with a naive computation.
	oracleLogs = 2
	// oracleEvents is how many events each of them has.
	oracleEvents = 800
	// oracleQuestions is how many questions are asked of each.
	oracleQuestions = 25
)
