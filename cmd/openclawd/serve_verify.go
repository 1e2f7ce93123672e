package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
)

// Default and shortest pause between two checks of the chain: each reads the whole log.
const (
	defaultVerifyEvery = 24 * time.Hour
	leastVerifyEvery   = time.Minute
)

func addVerifyEvery(flags *pflag.FlagSet, every *time.Duration) {
	flags.DurationVar(every, "verify-every", defaultVerifyEvery,
		"`TIME` from one check of the log's hash chain to the next, e.g. 12h; 0: none; none with --sample and --clock")
}

// checkVerifyEvery refuses what makes no sense. off is for servers whose data or clock are not real.
func checkVerifyEvery(every time.Duration, off bool) (time.Duration, error) {
	switch {
	case every < 0 || every > 0 && every < leastVerifyEvery:
		return 0, &settings.Error{Setting: "--verify-every", Value: every.String(), Mend: "give 1m or more, e.g. 24h, or 0 for none"}
	case off:
		return 0, nil
	}
	return every, nil
}
