// Reads one question (JSON, see question.py) from standard input, shows it, and answers JSON between
// two marks. The text of this file is constant: nothing of a question becomes source.

function run() {
  var stdin = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
  var question = JSON.parse(ObjC.unwrap($.NSString.alloc.initWithDataEncoding(stdin, 4)));
  var answer;
  try {
    answer = ask(question);
  } catch (error) {
    answer = { button: question.deny, gaveUp: false, message: String(error), number: error.errorNumber };
  }
  return '<iac:' + question.mark + '>' + JSON.stringify(answer) + '</iac:' + question.mark + '>';
}

function ask(question) {
  var app = Application.currentApplication();
  app.includeStandardAdditions = true;
  try {
    app.activate();
  } catch (error) {
    // A process without a window server connection cannot come to the front; the dialog still asks.
  }
  var given = app.displayDialog(question.text, {
    withTitle: question.title,
    buttons: question.buttons,
    defaultButton: question.deny,
    withIcon: 'caution',
    givingUpAfter: question.seconds
  });
  return { button: given.buttonReturned, gaveUp: given.gaveUp };
}
