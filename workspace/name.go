package workspace

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// prefix is the common prefix of all agents' directory names.
const prefix = "workspace-"

const (
	maxNameBytes = 200 // of one name; systems allow 255, the rest is for what is added to it
	maxPathBytes = 1_000
	maxPathDepth = 16
)

// isName reports whether name is valid as the name of one file or directory, here and on other systems: printable
// characters without separators, and without the escape character that a decoder on the way may undo. Unicode
// look-alikes of dots and slashes are ordinary characters and lead nowhere.
func isName(name string) bool {
	return name != "" && len(name) <= maxNameBytes && utf8.ValidString(name) &&
		!strings.HasPrefix(name, "..") && name != "." && !strings.HasSuffix(name, ".") && strings.Trim(name, " ") == name &&
		!strings.ContainsFunc(name, isForbidden) && !isDevice(name)
}

// forbidden has the ASCII characters that no name may have: a directory of thousands of names is listed before the first answer.
var forbidden = func() (is [utf8.RuneSelf]bool) {
	for r := range is {
		is[r] = !unicode.IsPrint(rune(r)) || strings.ContainsRune(`/\:*?"<>|%`, rune(r))
	}
	return is
}()

func isForbidden(r rune) bool {
	if r < utf8.RuneSelf {
		return forbidden[r]
	}
	return !unicode.IsPrint(r)
}

// maxDeviceBytes is more than any device's name has, however it is written.
const maxDeviceBytes = 16

// isDevice reports whether Windows treats a name as a device, whatever its extension.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	if base = strings.TrimRight(base, " "); len(base) > maxDeviceBytes {
		return false
	}
	base = strings.ToUpper(base)
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, ok := strings.CutPrefix(base, "COM")
	if !ok {
		port, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && utf8.RuneCountInString(port) == 1 && strings.ContainsAny(port, "0123456789¹²³")
}

// isAgent reports whether an id is valid for an agent.
func isAgent(id string) bool { return isName(id) && !strings.HasPrefix(id, ".") }

// IsTaskID reports whether a name, without its ".md", is valid for a task file.
func IsTaskID(id string) bool { return isName(id) && strings.HasPrefix(id, "task_") }

// isPlainTaskID reports whether an id has the form that the task tools generate.
func isPlainTaskID(id string) bool {
	rest, ok := strings.CutPrefix(id, "task_")
	return ok && rest != "" && !strings.ContainsFunc(rest, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// IsMonth reports whether text is a month in the form of history file names: 2026-02.
func IsMonth(text string) bool {
	if len(text) != len("2026-02") || text[4] != '-' {
		return false
	}
	for i := range len(text) {
		if i != 4 && (text[i] < '0' || text[i] > '9') {
			return false
		}
	}
	return true
}

// isPassing reports whether a file is temporary: a lock, or what programs write before they rename it.
func isPassing(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".lock") ||
		strings.HasSuffix(name, ".tmp") || strings.Contains(name, ".tmp.") || strings.Contains(name, ".tmp-") || strings.HasSuffix(name, ".swp")
}
