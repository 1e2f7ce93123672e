package doctor

import (
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
)

// Verdict is an error if there are error findings; a settings error if all of them are about the configuration.
func Verdict(findings []Finding, configFile string) error {
	var all, configured int64
	for _, f := range findings {
		if f.Severity == severityError {
			all++
			if strings.HasPrefix(f.Code, configPrefix) {
				configured++
			}
		}
	}
	unwell := &unwellError{all}
	switch {
	case all == 0:
		return nil
	case all == configured:
		return &config.SettingError{Setting: "configuration", Value: configFile, Err: unwell, HintText: unwell.Hint()}
	}
	return unwell
}

// unwellError reports that the doctor found errors.
type unwellError struct{ errors int64 }

func (e *unwellError) Error() string {
	return "the doctor found " + output.Count(e.errors, "error")
}
func (e *unwellError) Code() string { return "unwell" }
func (e *unwellError) Hint() string { return "fix the listed errors and run it again" }
