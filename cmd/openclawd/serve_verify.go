package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/config"
)

// Default and minimum interval of chain verification: each reads the whole log.
const (
	defaultVerifyEvery = 24 * time.Hour
	leastVerifyEvery   = time.Minute
)

func addVerifyEvery(flags *pflag.FlagSet, every *time.Duration) {
	flags.DurationVar(every, "verify-every", defaultVerifyEvery,
		"`TIME` between verifications of the log's hash chain, e.g. 12h; 0: none; none with --sample and --clock")
}

// checkVerifyEvery rejects an invalid interval. off is for servers with sample data or a frozen clock.
func checkVerifyEvery(every time.Duration, off bool) (time.Duration, error) {
	switch {
	case every < 0 || every > 0 && every < leastVerifyEvery:
		return 0, &config.SettingError{Setting: "--verify-every", Value: every.String(), HintText: "give 1m or more, e.g. 24h, or 0 for none"}
	case off:
		return 0, nil
	}
	return every, nil
}
