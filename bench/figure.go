package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// figure is one measured value with its baseline. Ratio compares Value with Baseline; Goal says whether it is to be
// large (>=) or small (<=).
type figure struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Baseline float64 `json:"baseline"`
	Ratio    float64 `json:"ratio"`
	Goal     string  `json:"goal"`
	OK       bool    `json:"ok"`
	Note     string  `json:"note"` // sizes, fsync mode, what the baseline is
}

// atLeast returns a figure whose ratio value/baseline must reach goal.
func atLeast(name string, value float64, unit string, baseline, goal float64, note string) figure {
	ratio := value / baseline
	return figure{name, value, unit, baseline, ratio, fmt.Sprintf("ratio >= %g", goal), ratio >= goal, note}
}

// atMost returns a figure whose ratio value/baseline must not exceed goal.
func atMost(name string, value float64, unit string, baseline, goal float64, note string) figure {
	ratio := value / baseline
	return figure{name, value, unit, baseline, ratio, fmt.Sprintf("ratio <= %g", goal), ratio <= goal, note}
}

// within returns a figure whose value must not exceed a limit.
func within(name string, value float64, unit string, limit float64, note string) figure {
	return figure{name, value, unit, limit, value / limit, fmt.Sprintf("<= %g %s", limit, unit), value <= limit, note}
}

// reaches returns a figure whose value must reach a limit.
func reaches(name string, value float64, unit string, limit float64, note string) figure {
	return figure{name, value, unit, limit, value / limit, fmt.Sprintf(">= %g %s", limit, unit), value >= limit, note}
}

// printer returns a function that writes figures one by one, as JSON lines or as rows of a table.
func printer(w io.Writer, asJSON bool) func(figure) error {
	if asJSON {
		lines := json.NewEncoder(w)
		lines.SetEscapeHTML(false)
		return func(f figure) error { return lines.Encode(f) }
	}
	write := rows(w, "%-28s  %-22s  %-10s  %-8s  %-22s  %s", "NAME", "VALUE", "BASELINE", "RATIO", "GOAL", "")
	return func(f figure) error {
		verdict := "ok"
		if !f.OK {
			verdict = "MISSED"
		}
		return write(f.Name, fmt.Sprintf("%.4g %s", f.Value, f.Unit), fmt.Sprintf("%.4g", f.Baseline), fmt.Sprintf("%.3g", f.Ratio), f.Goal, verdict)
	}
}

// rows returns a function that writes rows of a table, each as soon as it is known, so that the widths of its columns
// are fixed.
func rows(w io.Writer, format string, head ...any) func(cells ...any) error {
	write := func(cells []any) error {
		_, err := fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf(format, cells...), " "))
		return err
	}
	first := true
	return func(cells ...any) error {
		if first {
			first = false
			if err := write(head); err != nil {
				return err
			}
		}
		return write(cells)
	}
}

// readFigures reads what printer writes as JSON, or one array of figures, which older versions printed at the end.
func readFigures(text []byte) (figures []figure, err error) {
	for values := json.NewDecoder(bytes.NewReader(text)); ; {
		var value json.RawMessage
		if err := values.Decode(&value); err == io.EOF {
			return figures, nil
		} else if err != nil {
			return nil, fmt.Errorf("read figures: %w", err)
		}
		if value[0] != '[' {
			value = slices.Concat([]byte("["), value, []byte("]"))
		}
		var some []figure
		if err := json.Unmarshal(value, &some); err != nil {
			return nil, fmt.Errorf("read figures: %w", err)
		}
		figures = append(figures, some...)
	}
}
