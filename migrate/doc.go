// Package migrate takes over the state of OpenClaw: it turns what package openclaw reads into events of ours, with their own times. Their
// ids follow from what they say, so that a second run adds nothing, a later run adds what came since, and a killed run is repeated. What is
// not taken over is in the report, with place and reason.
package migrate
