package main

import (
	"io/fs"
	"time"

	"github.com/pronto-lab/openclawd/services/samplework"
	"github.com/pronto-lab/openclawd/testdata/sample"
)

// newSampleHome writes the sample data with its times moved to now.
func newSampleHome(now time.Time) (*samplework.Home, error) {
	awaiting, err := fs.Sub(sample.Awaiting, "awaiting")
	if err != nil {
		return nil, err
	}
	return samplework.NewHome(now.Sub(sample.Taken), sample.Files, awaiting)
}
