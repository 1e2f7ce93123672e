//go:build race

package journal_test

// propertyChecks is how many random files a property test tries unless -rapid.checks says otherwise.
const propertyChecks = "8"

// lookEvery is after how many events of a story whole tables are compared.
const lookEvery = 7
