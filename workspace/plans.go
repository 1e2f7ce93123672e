package workspace

import (
	"encoding/json"
	"strings"
)

// Plan is a plan file.
type Plan struct {
	File    string                     // relative to the state directory
	JSON    json.RawMessage            // the object, verbatim
	Members map[string]json.RawMessage // of the object; nil if it is not an object
}

// Text returns a string member, or "".
func (p *Plan) Text(member string) string {
	var text string
	_ = json.Unmarshal(p.Members[member], &text)
	return text
}

func parsePlan(file string) func(string) Plan {
	return func(text string) Plan {
		p := Plan{File: file}
		if json.Unmarshal([]byte(text), &p.Members) == nil && p.Members != nil {
			p.JSON = json.RawMessage(strings.TrimSpace(text))
		}
		return p
	}
}

// Plans reads an agent's plans: those of its workspace, and those of the team that name it, in the file or in its
// name. Files that hold no plan are faults, and so is each that exceeded the limit, since its agent is unknown.
func (r *Reader) Plans(agent string) (plans []Plan, faults []Fault, err error) {
	for _, names := range [][]string{{ownName, plansName}, {plansName}} {
		err := r.dir.agent(agent, names, func(f *folder) error { return r.readPlans(f, &plans, &faults, nil) })
		if err = r.dir.recordRefusal(err, &faults, prefix+agent+"/"+strings.Join(names, "/")); err != nil {
			return nil, nil, err
		}
	}
	err = r.dir.in([]string{plansName}, func(f *folder) error {
		return r.readPlans(f, &plans, &faults, func(name string, p *Plan) bool {
			return strings.HasPrefix(name, agent+"_") || p != nil && p.Text("agentId") == agent
		})
	})
	return plans, faults, r.dir.recordRefusal(err, &faults, plansName)
}

// readPlans reads the wanted plans of a directory. Unreadable ones are matched by name.
func (r *Reader) readPlans(f *folder, plans *[]Plan, faults *[]Fault, want func(name string, p *Plan) bool) error {
	names, more, err := f.files(".json")
	if more {
		*faults = append(*faults, Fault{File: f.path, Error: ReasonMany})
	}
	for _, name := range names {
		plan, err := parsedWithin(r, f, name, parsePlan(f.at(name)))
		switch {
		case isMissing(err):
		case err != nil || plan.Members == nil:
			if want == nil || isFull(err) || want(name, nil) {
				if err == nil {
					err = f.refuse(name, ReasonJSON)
				}
				*faults = append(*faults, faultOf(f.at(name), err))
			}
		case want == nil || want(name, &plan):
			*plans = append(*plans, plan)
		}
	}
	return err
}

// TeamState reads team-state.json. Its members are nil if the file is missing or faulty.
func (d *Dir) TeamState() (members map[string]json.RawMessage, faults []Fault, err error) {
	err = d.in(nil, func(f *folder) error {
		state, err := parsed(d, f, TeamStateName, parsePlan(TeamStateName))
		if err == nil && state.Members == nil {
			err = f.refuse(TeamStateName, ReasonJSON)
		}
		members = state.Members
		return err
	})
	return members, faults, d.recordRefusal(err, &faults, TeamStateName)
}
