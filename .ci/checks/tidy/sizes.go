package tidy

import (
	"fmt"
	"go/ast"
	"strings"
)

const (
	fileLines     = 500 // of a file that is not a test, without a reason
	fileLinesMax  = 700 // of any file
	funcLines     = 70
	funcLinesTest = 150 // of a test, which may hold a table or a story
)

// sizes limits files and functions to what a reader can hold.
func sizes(files []goFile) []finding {
	var findings []finding
	unused := map[string]bool{}
	for name := range longFiles {
		unused[name] = true
	}
	for name := range longFuncs {
		unused[name] = true
	}
	for _, f := range files {
		n := strings.Count(f.text, "\n")
		switch reason := longFiles[f.name]; {
		case n > fileLinesMax:
			findings = append(findings, finding{f.name, 0, fmt.Sprintf("has %d lines; split it, %d is the most", n, fileLinesMax)})
		case n > fileLines && !f.test() && reason == "":
			findings = append(findings, finding{f.name, 0,
				fmt.Sprintf("has %d lines; split it, or say in allowed.go why it may have more than %d", n, fileLines)})
		case n > fileLines:
			delete(unused, f.name)
		}
		for _, d := range f.ast.Decls {
			fd, ok := d.(*ast.FuncDecl)
			if !ok || fd.Body == nil {
				continue
			}
			limit := funcLines
			if f.test() {
				limit = funcLinesTest
			}
			name := f.name + ":" + funcName(fd)
			if n := f.line(fd.End()) - f.line(fd.Pos()) + 1; n > limit {
				delete(unused, name)
				if longFuncs[name] == "" {
					findings = append(findings, finding{f.name, f.line(fd.Pos()),
						fmt.Sprintf("func %s has %d lines; split it, or say in allowed.go why it may have more than %d", funcName(fd), n, limit)})
				}
			}
		}
	}
	for name := range unused {
		file, _, _ := strings.Cut(name, ":")
		findings = append(findings, finding{file, 0, "is listed in allowed.go as " + name + " but is not too long"})
	}
	return findings
}

func funcName(fd *ast.FuncDecl) string {
	if fd.Recv == nil {
		return fd.Name.Name
	}
	recv := fd.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	switch x := recv.(type) {
	case *ast.IndexExpr:
		recv = x.X
	case *ast.IndexListExpr:
		recv = x.X
	}
	if id, ok := recv.(*ast.Ident); ok {
		return id.Name + "." + fd.Name.Name
	}
	return fd.Name.Name
}
