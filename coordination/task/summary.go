package task

// Summary counts delegations by status.
type Summary struct {
	Total      int  `json:"total"`
	Completed  int  `json:"completed"`
	Verified   int  `json:"verified"`
	Failed     int  `json:"failed"`     // and abandoned
	Running    int  `json:"running"`    // and spawned, and retrying
	AllSettled bool `json:"allSettled"` // there are some, and each is verified, abandoned or rejected
}

func Summarize(list []Delegation) Summary {
	s := Summary{Total: len(list), AllSettled: len(list) > 0}
	for i := range list {
		switch status := list[i].Status; status {
		case completed:
			s.Completed++
		case verified:
			s.Verified++
		case failed, abandoned:
			s.Failed++
		case spawned, running, retrying:
			s.Running++
		}
		switch list[i].Status {
		case verified, abandoned, rejected:
		default:
			s.AllSettled = false
		}
	}
	return s
}
