package coordination

// Refusal says why something was not done. Nothing has changed then. Details is what only the refusals of one package
// say; its type tells them apart from those of other packages.
type Refusal[Details any] struct {
	Reason   string // a code, declared by the package
	Field    string // the parameter; ""
	Value    string // of the parameter
	Text     string // what is wrong
	HintText string
	Details  Details
}

func (r *Refusal[Details]) Error() string { return r.Text }
func (r *Refusal[Details]) Code() string  { return r.Reason }
func (r *Refusal[Details]) Hint() string  { return r.HintText }
