package workspace

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// History is an agent's finished tasks.
type History struct {
	Months []string        // newest first
	Month  string          // the month that was read; "" for none
	Read   *taskfile.Month // nil where there is nothing to read
	Faults []Fault
}

// History reads a month of an agent's history; "" is the newest. The month must satisfy IsMonth.
func (d *Dir) History(agent, month string) (*History, error) {
	h := &History{Month: month}
	err := d.agent(agent, []string{historyName}, func(f *folder) (err error) {
		if h.Months, err = f.months(); err != nil {
			return err
		}
		if h.Month == "" && len(h.Months) > 0 {
			h.Month = h.Months[0]
		}
		if h.Month == "" || !IsMonth(h.Month) {
			return nil
		}
		read, err := parsed(d, f, h.Month+".md", taskfile.ParseMonth)
		if err != nil && !isMissing(err) {
			h.Faults = append(h.Faults, faultOf(f.at(h.Month+".md"), err))
			return nil
		}
		h.Read = read
		return nil
	})
	return h, d.recordRefusal(err, &h.Faults, prefix+agent+"/"+historyName)
}

// HistoryOf finds a finished task: the first entry with its id in the newest month that has one.
func (d *Dir) HistoryOf(agent, taskID string) (entry *taskfile.Entry, err error) {
	err = d.agent(agent, []string{historyName}, func(f *folder) error {
		months, err := f.months()
		if err != nil || taskID == "" {
			return err
		}
		for _, month := range months {
			read, err := parsed(d, f, month+".md", taskfile.ParseMonth)
			if err != nil {
				continue // an unreadable month hides only itself
			}
			if found, ok := read.Find(taskID); ok {
				entry = found
				return nil
			}
		}
		return nil
	})
	return entry, d.recordRefusal(err, nil, "")
}

// months lists the months of a history directory, newest first.
func (f *folder) months() (months []string, err error) {
	names, _, err := f.files(".md")
	for _, name := range names {
		if month := strings.TrimSuffix(name, ".md"); IsMonth(month) {
			months = append(months, month)
		}
	}
	slices.Reverse(months)
	return months, err
}
