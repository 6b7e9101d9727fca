package scenarios

import (
	"fmt"
	"strings"
)

func waitStep(st *Story, args WaitArgs) error {
	where := "step " + st.number
	from := st.Engine().Elapsed()
	ok, err := st.WaitUntil(where, args.Within.Std(), func() (bool, error) { return st.holds(where, &args.For) })
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("not true within %s: %s", args.Within, oneLine(args.For.Source))
	}
	st.Tell(st.number, "has waited %s for: %s", shortDuration(st.Engine().Elapsed()-from), oneLine(args.For.Source))
	return nil
}

func assertStep(st *Story, args AssertArgs) error {
	ok, err := st.holds("step "+st.number, &args.That)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("not true: %s", oneLine(args.That.Source))
	}
	return nil
}

func sleepStep(st *Story, args SleepArgs) error {
	d := st.DrawSpan("sleep", args.For)
	st.Tell(st.number, "lets %s pass", shortDuration(d))
	return st.Sleep(d)
}

// oneLine is a condition for a report: white space folded, long ones cut.
func oneLine(source string) string {
	text := []rune(strings.Join(strings.Fields(source), " "))
	const most = 200
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
