//go:build race

package work_test

const (
	// propertyChecks is how many histories a property test tries unless -rapid.checks says otherwise.
	propertyChecks = "3"
)
