//go:build race

package monitor_test

const (
	// oracleLogs is how many random logs are compared with a naive computation: fewer and shorter ones here, where each takes many times longer.
	oracleLogs = 1
	// oracleEvents is how many events each of them has.
	oracleEvents = 400
	// oracleQuestions is how many questions are asked of each.
	oracleQuestions = 20
)
