package scripted

import (
	"encoding/json"
	"regexp"
	"strings"
)

// picks finds placeholders for parts of a result: {{result.agents.id}}.
var picks = regexp.MustCompile(`\{\{result((?:\.\w+)+)\}\}`)

// picked returns such placeholders of a text and their values, as arguments of strings.NewReplacer.
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

// pick returns the values at a path of members, through lists; listed reports that it led through one and found some.
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
