package scripted

import (
	"encoding/json"
	"regexp"
	"strings"
)

// picks finds parts of a result that a text asks for: {{result.agents.id}}.
var picks = regexp.MustCompile(`\{\{result((?:\.\w+)+)\}\}`)

// picked gives, in the form of strings.NewReplacer's arguments, what a text asks for of a result.
func picked(text, result string) (pairs []string) {
	asked := picks.FindAllStringSubmatch(text, -1)
	if len(asked) == 0 {
		return nil
	}
	var root any
	d := json.NewDecoder(strings.NewReader(result))
	d.UseNumber()
	isJSON := d.Decode(&root) == nil
	for _, one := range asked {
		shown := result
		if isJSON {
			if found, listed := pick(root, strings.Split(one[1][1:], ".")); listed {
				shown = "- " + strings.Join(found, "\n- ")
			} else if len(found) == 1 {
				shown = found[0]
			}
		}
		pairs = append(pairs, one[0], shown)
	}
	return pairs
}

// pick gives the values at a path of members, through lists; listed says that it led through one, and there is something.
func pick(value any, path []string) (found []string, listed bool) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			more, _ := pick(item, path)
			found = append(found, more...)
		}
		return found, len(found) > 0
	case map[string]any:
		if len(path) > 0 {
			return pick(v[path[0]], path[1:])
		}
	case string:
		if len(path) == 0 && v != "" {
			return []string{v}, false
		}
	case json.Number:
		if len(path) == 0 {
			return []string{v.String()}, false
		}
	}
	return nil, false
}
